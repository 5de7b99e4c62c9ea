import { tool } from "@opencode-ai/plugin"

// Whole: what a tool in a file can give back, and leave of its own.
export const add = tool({
  description: "Add two numbers",
  args: { a: tool.schema.number(), b: tool.schema.number().optional() },
  async execute(args, context) {
    context.metadata({ title: "Adding" })
    await context.ask({ permission: "math", patterns: ["add"], always: ["*"], metadata: {} })
    return {
      title: "Sum",
      output: String(args.a + (args.b ?? 0)),
      metadata: { n: 3 },
      attachments: [{ type: "file", mime: "text/plain", filename: "a.txt", url: "data:text/plain;base64,aGk=" }],
    }
  },
})

export const boom = tool({
  description: "Throw",
  args: {},
  async execute() {
    throw new Error("kaboom")
  },
})

export const long = tool({
  description: "More lines than are shown",
  args: {},
  async execute() {
    return Array.from({ length: 2500 }, (_, row) => `row ${row}`).join("\n")
  },
})

// No tool.
export const notatool = 1
