import { readFile, writeFile } from "node:fs/promises"
import * as path from "node:path"
import { tool } from "@opencode-ai/plugin"

const text = tool.schema.string()

export const copy = tool({
  description: "Copies a file in capitals",
  args: { from: text, to: text },
  async execute({ from, to }, { directory }) {
    const old = await readFile(path.join(directory, from), "utf8")
    await writeFile(path.resolve(directory, to), old.toUpperCase())
    return (await Bun.file(path.join(directory, to)).text()).trim()
  },
})

export const outside = tool({
  description: "Reads what is not the project's",
  args: { path: text },
  execute: async (args) => await readFile(args.path, "utf8"),
})

export const shell = tool({
  description: "Runs a command",
  args: { word: text },
  execute: async ({ word }) => await Bun.$`echo ${word}`.text(),
})

export const web = tool({
  description: "Fetches a page",
  args: { url: text },
  async execute({ url }) {
    const answer = await fetch(url)
    return `${answer.status}`
  },
})

interface Part {
  inner?: { size: number }
}

export const bad = tool({
  description: "Looks into what is not there",
  args: {},
  async execute() {
    const part: Part = {}
    if (part.inner === undefined) throw new Error("nothing inside")
    return `${part.inner.size}`
  },
})
