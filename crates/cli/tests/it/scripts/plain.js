export default { description: "Says hello", args: {}, execute: async () => "hello" }
