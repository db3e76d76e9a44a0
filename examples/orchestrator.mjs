// An orchestrator of your own: asks the same question twice, and answers with the shorter of the two answers.
import { Agent } from 'statewire'
import { absorb, historyOf, initialComposite } from 'statewire/machines'
import { scriptedModel } from 'statewire/testing'
import { assign, emit, forwardTo, setup } from 'xstate'

const shorterOfTwo = {
  providerHint: 'shorter-of-two',
  create: ({ lifecycle }) =>
    setup({
      actors: { run: lifecycle() },
      actions: {
        // What a run emits goes to our listeners, except its own end.
        relay: emit(({ event }) => event.emitted),
        take: assign(({ context, event }) => ({
          ...absorb(context, event.output),
          answers: [...context.answers, event.output.output],
        })),
        forward: forwardTo('run'),
      },
      guards: {
        isContent: ({ event }) =>
          event.emitted.finishReason === undefined || event.emitted.finishReason === 'unspecified',
        isGood: ({ event }) => event.output.status === 'complete',
      },
    }).createMachine({
      id: 'shorterOfTwo',
      context: ({ input }) => ({ ...initialComposite(input), answers: [] }),
      initial: 'First',
      on: {
        'run.emitted': { guard: 'isContent', actions: 'relay' },
        abort: { actions: 'forward' },
        steer: { actions: 'forward' },
      },
      states: {
        First: {
          invoke: {
            id: 'run',
            src: 'run',
            input: ({ context }) => context.input,
            onDone: [
              { guard: 'isGood', target: 'Second', actions: 'take' },
              { target: 'Ended', actions: 'take' },
            ],
          },
        },
        Second: {
          invoke: {
            id: 'run',
            src: 'run',
            input: ({ context }) => ({ history: historyOf(context), prompt: 'Again, in fewer words.' }),
            onDone: { target: 'Ended', actions: 'take' },
          },
        },
        Ended: { type: 'final' },
      },
      output: ({
        context: { answers, messages, metadata, usage, responseId, failure, abortReason, finishReason },
      }) => ({
        status: failure ? 'failed' : finishReason === 'aborted' ? 'aborted' : 'complete',
        ...(failure && { error: failure }),
        reason: abortReason,
        id: responseId,
        output: answers.toSorted((a, b) => a.length - b.length)[0] ?? '',
        messages,
        finishReason,
        metadata,
        ...(usage && { usage }),
      }),
    }),
}

const model = scriptedModel([
  'A statechart is a state machine with hierarchy and parallel states.',
  'A nested state machine.',
])
const agent = new Agent(model, { orchestrator: shorterOfTwo })
const { output, messages } = await agent.send('What is a statechart?')
console.log(output)
console.log(`(${messages.length} messages)`)
