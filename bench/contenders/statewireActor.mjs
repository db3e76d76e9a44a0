import { agentOf } from './statewire.mjs'

/** An agent as an actor: every snapshot goes to a subscriber, every chunk to a listener. */
export const open = (options) => {
  const agent = agentOf(options)
  return {
    ask: (prompt, { onText, signal } = {}) =>
      new Promise((resolve, reject) => {
        const actor = agent.actor({ prompt })
        let text = ''
        let snapshots = 0
        actor.on('chunk', ({ output }) => {
          if (output === '') return
          text += output
          onText?.(output)
        })
        actor.subscribe({
          next: () => {
            snapshots += 1
          },
          error: reject,
          complete: () => resolve({ text, snapshots, held: actor.getSnapshot().output }),
        })
        signal?.addEventListener('abort', () => actor.send({ type: 'abort' }))
        actor.start()
      }),
  }
}
