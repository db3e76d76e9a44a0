// An agent inside a machine of your own: a support ticket whose answer a model drafts and a person signs off.
import { Agent, tool } from 'statewire'
import { startSimulator } from 'statewire/simulator'
import { assign, createActor, setup, waitFor } from 'xstate'
import { z } from 'zod'

const simulator = await startSimulator()

const findOrder = tool({
  name: 'find_order',
  description: 'State of an order by its number',
  input: z.object({ number: z.int() }),
  execute: ({ number }) => ({ number, state: 'shipped', carrier: 'Posten' }),
})

const writer = new Agent('openai:simulator', { baseUrl: simulator.baseUrl, tools: [findOrder] })

const ticket = setup({
  actors: { writer: writer.machine },
  actions: {
    // The output of a run has its messages: as history of the next run they continue the conversation.
    keepDraft: assign({
      draft: ({ event }) => event.output.output,
      history: ({ context, event }) => [...context.history, ...event.output.messages],
    }),
    takeRemark: assign({ prompt: ({ event }) => event.remark }),
    log: (_, { text }) => console.log(text),
  },
  // A run that failed or was aborted is done as well, not an error: its output says which.
  guards: { isWritten: ({ event }) => event.output.status === 'complete' },
}).createMachine({
  id: 'ticket',
  context: ({ input }) => ({ prompt: input.question, history: [], draft: '' }),
  initial: 'Drafting',
  states: {
    Drafting: {
      invoke: {
        id: 'writer',
        src: 'writer',
        input: ({ context: { prompt, history } }) => ({ prompt, history }),
        onDone: [{ guard: 'isWritten', target: 'Review', actions: 'keepDraft' }, { target: 'Escalated' }],
      },
      // Leaving the state ends the run: its connection is closed, its tools are signalled.
      on: { withdraw: 'Withdrawn' },
      after: { 60000: 'Escalated' },
    },
    Review: {
      entry: { type: 'log', params: ({ context }) => ({ text: `\ndraft: ${context.draft}` }) },
      on: { send: 'Sent', revise: { target: 'Drafting', actions: 'takeRemark' } },
    },
    Sent: { type: 'final' },
    Withdrawn: { type: 'final' },
    Escalated: { type: 'final' },
  },
})

const actor = createActor(ticket, { input: { question: 'Please find order 1204. Where is it?' } })
actor.subscribe({ next: ({ value }) => console.log(`ticket is in ${value}`), error: console.error })
actor.start()

// Listen on the child itself for what the run emits.
actor.getSnapshot().children.writer.on('tool.call', ({ call }) => console.log('  looks for', call.arguments))

await waitFor(actor, (snapshot) => snapshot.matches('Review'))
actor.send({ type: 'revise', remark: 'Please find order 1305 as well.' })
await waitFor(actor, (snapshot) => snapshot.matches('Review'))
actor.send({ type: 'send' })
console.log(`${actor.getSnapshot().context.history.length} messages in the history of the ticket`)

await simulator.close()
