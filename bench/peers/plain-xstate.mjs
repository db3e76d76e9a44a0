import { assign, createActor, emit, fromCallback, setup } from 'xstate'
import { open as openFloor } from '../contenders/floor.mjs'

const machineOf = (floor) =>
  setup({
    actors: {
      model: fromCallback(({ input: { prompt, signal }, sendBack }) => {
        const onText = (delta) => sendBack({ type: 'delta', delta })
        floor.ask(prompt, { onText, signal }).then(
          () => sendBack({ type: 'done' }),
          (error) => sendBack({ type: 'failed', error }),
        )
      }),
    },
    actions: {
      append: assign({ text: ({ context, event }) => context.text + event.delta }),
      emitChunk: emit(({ event }) => ({ type: 'chunk', delta: event.delta })),
    },
  }).createMachine({
    context: ({ input }) => ({ input, text: '' }),
    initial: 'streaming',
    states: {
      streaming: {
        invoke: { id: 'model', src: 'model', input: ({ context }) => context.input },
        on: { delta: { actions: ['append', 'emitChunk'] }, done: 'complete', failed: 'failed' },
      },
      complete: { type: 'final' },
      failed: { type: 'final' },
    },
    output: ({ context }) => context.text,
  })

/** A first attempt: the floor's client, with every delta an event that is assigned and emitted. */
export const open = (options) => {
  const floor = openFloor(options)
  const machine = machineOf(floor)
  return {
    ask: (prompt, { onText, signal } = {}) =>
      new Promise((resolve, reject) => {
        const actor = createActor(machine, { input: { prompt, signal } })
        let text = ''
        actor.on('chunk', ({ delta }) => {
          text += delta
          onText?.(delta)
        })
        actor.subscribe({
          next: () => {},
          error: reject,
          complete: () => resolve({ text, held: actor.getSnapshot().output }),
        })
        actor.start()
      }),
    close: floor.close,
  }
}
