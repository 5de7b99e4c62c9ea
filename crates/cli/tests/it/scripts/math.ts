import { tool } from "@opencode-ai/plugin"

type Pair = { a: number; b: number }

export const add = tool({
  description: "Add two numbers",
  args: {
    a: tool.schema.number().describe("First number"),
    b: tool.schema.number().describe("Second number"),
  },
  async execute({ a, b }: Pair): Promise<number> {
    return a + b
  },
})

export const multiply = tool({
  description: "Multiply two numbers",
  args: { a: tool.schema.number(), b: tool.schema.number() },
  async execute({ a, b }: Pair, context) {
    context.metadata({ title: "product" })
    return { title: "product", output: `${a * b} below ${context.directory === context.worktree}`, metadata: { a, b } }
  },
})
