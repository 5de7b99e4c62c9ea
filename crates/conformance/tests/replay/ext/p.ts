import { tool } from "@opencode-ai/plugin"

// A tool, and hooks around those of others.
export const Plug = async () => ({
  tool: {
    plug_tool: tool({ description: "Plug", args: {}, execute: async () => "plugged" }),
  },
  "tool.execute.before": async (input, output) => {
    if (input.tool !== "hello") return
    if (output.args.name === "rewrite") output.args.name = "REWRITTEN"
    if (output.args.name === "blockme") throw new Error("blocked by plugin")
  },
  "tool.execute.after": async (input, output) => {
    if (output.output.includes("tailme")) output.output += " [after]"
  },
  "shell.env": async (input, output) => {
    output.env.PLUG = "yes"
  },
})
