import { type Plugin, tool } from "@opencode-ai/plugin"

export const Guard: Plugin = async ({ directory }) => ({
  "tool.execute.before": async (input, output) => {
    if (input.tool !== "read") return
    if (output.args.filePath.includes(".env")) throw new Error("Do not read .env files")
    output.args.filePath = `${directory}/b.txt`
  },
  "tool.execute.after": async (input, output) => {
    output.output += `\n[seen ${input.tool}]`
  },
  tool: {
    greet: tool({
      description: "Greets somebody",
      args: { name: tool.schema.string() },
      execute: async ({ name }) => `Hello, ${name}`,
    }),
  },
})
