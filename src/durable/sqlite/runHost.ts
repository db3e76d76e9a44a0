import type { RunHost } from '../../../machines/logic/runEnvironment.ts'
import type { ToolResultPart } from '../../messages/messages.ts'
import type { ModelSink } from '../../model/chatModel.ts'

/** The parts of a run in this process that its charts use through their host. */
type HostedParts = {
  /** The path of the file. */
  store: string
  /** Time in which no process had the run. */
  stoppedMs: number
  /** Results of calls that may not be stored yet, by idempotency key. */
  results: Map<string, ToolResultPart>
  /** Called with each event of each of its charts, when it has its effect. */
  onEvent(event: object): void
  writeAhead(): void
  /** Says whether the run is about to be stopped. */
  isStopping(): boolean
  /** Says whether nothing more of the run may take effect here. */
  hasStopped(): boolean
  /** Says whether tools are running: a step that cannot be stored leaves their calls in doubt. */
  hasTools(): boolean
  isWritable(): boolean
  /** Resolves when the store can be written, or the run has stopped. */
  whenWritable(): Promise<void>
  /** Gives the run the commands that other processes have enqueued for it. */
  takeCommands(): void
}

/** The host of a run that is stored in a file. What makes a step waits for the file while tools of the run are at work. */
export const runHost = (parts: HostedParts): RunHost => {
  const { store, stoppedMs, results, onEvent, writeAhead, isStopping, hasStopped, whenWritable } = parts
  return {
    onEvent,
    writeAhead,
    store,
    stoppedMs,
    isStopping,
    takeCommands: () => {
      if (!hasStopped()) parts.takeCommands()
    },
    // A run that is about to be stopped asks no model any more: the next process does.
    turn: (_, ask, sink) => (isStopping() ? undefined : ask(whenStorable(sink, parts))),
    // A result may end the run (`endsRun`), and an end that has not seen a command does not count: with it the result
    // would be lost, and the tool run again. So the commands come first.
    call: async (key, execute) => {
      const result = await execute()
      if (!hasStopped()) results.set(key, result)
      // A result that cannot be stored would leave its call in doubt.
      await whenWritable()
      if (!hasStopped()) parts.takeCommands()
      return result
    },
    resultOf: (key) => results.get(key),
  }
}

/** A sink that gets an answer later if its beginning or its end could not be stored now, beside tools that are running. */
const whenStorable = (
  sink: ModelSink,
  { hasTools, isWritable, whenWritable, hasStopped }: HostedParts,
): ModelSink => {
  let hasBegun = false
  let before: Promise<void> | undefined
  const pass = (isStep: boolean, event: () => void): void => {
    if (!before && !(isStep && hasTools() && !isWritable())) {
      event()
      return
    }
    const passed = (before ?? Promise.resolve())
      .then(whenWritable)
      .then(() => {
        if (before === passed) before = undefined
        if (!hasStopped()) event()
      })
      .catch(sink.fail)
    before = passed
  }
  return {
    ...sink,
    deltas: (batch) => {
      pass(!hasBegun, () => sink.deltas(batch))
      hasBegun = true
    },
    end: () => pass(true, () => sink.end()),
    fail: (error) => pass(true, () => sink.fail(error)),
  }
}
