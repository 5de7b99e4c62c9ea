import { randomUUID } from "node:crypto"
import { z } from "zod"

export default {
  description: "Make ids that nobody else has",
  args: { count: z.number().int().min(1).max(10).default(1) },
  async execute({ count }: { count: number }) {
    const ids = Array.from({ length: count }, (_, n) => (n % 2 ? crypto.randomUUID() : randomUUID()))
    return ids.map((id) => id.length).join(" ")
  },
}
