// Tells what a tool in a file is given.
export default {
  description: "Say hello",
  args: { name: { type: "string" } },
  async execute(args, context) {
    const keys = Object.keys(context).sort().join(",")
    return `hello ${args.name} keys=${keys} dir=${context.directory} wt=${context.worktree} agent=${context.agent}`
  },
}
