import type { AgentEmitted, AgentOutput } from '../../machines/agent/events.ts'
import type { Agent } from '../agent/Agent.ts'
import type { Inspect } from '../agent/watching.ts'
import { describeThrown, OrchestrationError } from '../messages/errors.ts'
import { Approvals, aboutOf, decisionOn } from './Approvals.ts'
import type { Invocation } from './command.ts'
import { atTerminal } from './Lines.ts'
import { onInterrupt } from './outcome.ts'
import type { Question } from './question.ts'

/** The reason of a run that Ctrl-C aborted. */
export const interrupted = 'interrupted'

type WatchedRun = {
  question: Question
  agent: Agent
  inspect: Inspect
  /** Every event that the run emits, in order. */
  onEvent: (event: AgentEmitted) => void
}

/** Runs an agent to its end. Ctrl-C aborts it; a person at the terminal is asked for approvals, and at limits. */
export const watchedRun = async (invocation: Invocation, run: WatchedRun): Promise<AgentOutput> => {
  const { screen, values } = invocation
  const { agent, inspect } = run
  const { prompt, attachments, history, schema } = run.question
  const actor = agent.actor({ prompt, attachments, history }, { inspect, ...(schema && { schema }) })
  const abort = () => actor.send({ type: 'abort', reason: interrupted })
  const lines = atTerminal(invocation)
  const approvals = new Approvals({
    isApproved: values.approve === true,
    lines,
    screen,
    leave: abort,
  })
  actor.on('*', (event) => {
    if (event.type === 'tool.call' || event.type === 'tool.result') approvals.withdraw(event.callId)
    run.onEvent(event)
    if (event.type === 'tool.external') {
      const about = aboutOf({ ...event, id: event.callId })
      approvals.answer(event.call).then((answer) => actor.send({ type: 'tool.answer', ...about, ...answer }))
    }
    // An agent that does not ask at a limit has already continued.
    const isAsked = event.type === 'limit' && actor.getSnapshot().hasTag('waiting')
    if (event.type !== 'tool.approval' && !isAsked) return
    const asked = { ...event, id: event.callId }
    const decision = event.type === 'limit' ? approvals.mayGoOn(event) : approvals.decide(event.call)
    Promise.resolve(decision).then(
      (approval) => actor.send(decisionOn(asked, approval)),
      (thrown) => actor.send({ type: 'tool.reject', ...aboutOf(asked), reason: describeThrown(thrown) }),
    )
  })
  const release = onInterrupt(abort)
  try {
    return await new Promise((resolve, reject) => {
      actor.subscribe({
        error: (cause) =>
          reject(new OrchestrationError(`The run broke: ${describeThrown(cause)}`, { cause })),
        complete: () => {
          const { output } = actor.getSnapshot()
          if (output) resolve(output)
        },
      })
      actor.start()
    })
  } finally {
    approvals.withdraw()
    lines?.close()
    release()
  }
}
