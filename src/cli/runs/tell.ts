import { textOption } from '../command.ts'
import { exit } from '../exit.ts'
import { promptOf } from '../promptOf.ts'
import { namedRun, noteOwner, type RunsAction } from './action.ts'

export const abort: RunsAction = {
  name: 'abort',
  operands: '<id>',
  summary: 'ends it',
  options: ['reason'],
  run: async (invocation, runs) => {
    const { id } = await namedRun(runs, invocation.words)
    const reason = textOption(invocation, 'reason')
    await runs.send(id, { type: 'abort', ...(reason !== undefined && { reason }) })
    invocation.screen.line(`told to end: ${id}`)
    noteOwner(runs, invocation)
    return exit.complete
  },
}

export const steer: RunsAction = {
  name: 'steer',
  operands: '<id> <text>',
  summary: 'adds a message for the model; - reads stdin',
  options: [],
  run: async (invocation, runs) => {
    const [, ...said] = invocation.words
    const { id } = await namedRun(runs, invocation.words)
    const text = await promptOf({ ...invocation, words: said })
    await runs.send(id, { type: 'steer', text })
    invocation.screen.line(`steered: ${id}`)
    noteOwner(runs, invocation)
    return exit.complete
  },
}
