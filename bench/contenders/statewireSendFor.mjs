import { agentOf } from './statewire.mjs'

/** The validated value alone. */
export const open = (options) => {
  const agent = agentOf(options)
  const { typed } = options
  return {
    async ask(prompt, { signal } = {}) {
      const { output } = await agent.sendFor(prompt, typed.schema(), { signal })
      return typed.resultOf(output)
    },
  }
}
