import { tool } from "@opencode-ai/plugin"
import path from "path"

export default tool({
  description: "Add two numbers in Python",
  args: { a: tool.schema.number(), b: tool.schema.number() },
  async execute(args, context) {
    const script = path.join(context.worktree, ".opencode/tool/add.py")
    return (await Bun.$`python3 ${script} ${args.a} ${args.b}`.text()).trim()
  },
})
