import { builtModule } from '../built.mjs'
import { agentOf } from './statewire.mjs'

const { reasoningOrchestrator } = await import(builtModule())

/** Through an orchestrator: four runs, one after the other in one conversation, whose chunks it passes on. */
export const open = (options) => {
  const agent = agentOf({ ...options, orchestrator: reasoningOrchestrator() })
  return {
    answers: 4,
    async ask(prompt, { onText, signal } = {}) {
      const texts = []
      let phase
      for await (const { output, metadata } of agent.sendStream(prompt, { signal })) {
        if (output === '') continue
        if (metadata.phase !== phase) {
          phase = metadata.phase
          texts.push('')
        }
        texts[texts.length - 1] += output
        onText?.(output)
      }
      return { texts, held: texts }
    },
  }
}
