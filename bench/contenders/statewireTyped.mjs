import { agentOf } from './statewire.mjs'

/** The value while it grows: every chunk has what is known of it so far, the last one is validated. */
export const open = (options) => {
  const agent = agentOf(options)
  const { typed } = options
  return {
    async ask(prompt, { signal } = {}) {
      let value
      for await (const { output } of agent.sendStreamFor(prompt, typed.schema(), { signal })) value = output
      return typed.resultOf(value)
    },
  }
}
