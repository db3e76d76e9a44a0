import { type Invocation, textOption } from '../command.ts'
import { exit, UsageError } from '../exit.ts'
import { namedRun, noteOwner, type RunsAction } from './action.ts'

export const fork: RunsAction = {
  name: 'fork',
  operands: '<id>',
  summary: 'starts a copy from there, or from --at-step',
  options: ['at-step', 'agent', 'id'],
  run: async (invocation, runs) => {
    const { id } = await namedRun(runs, invocation.words)
    const agent = textOption(invocation, 'agent')
    const newId = textOption(invocation, 'id')
    const copy = await runs.fork(id, {
      ...stepOption(invocation),
      ...(agent !== undefined && { agent }),
      ...(newId !== undefined && { id: newId }),
    })
    invocation.screen.line(copy.id)
    noteOwner(runs, invocation)
    return exit.complete
  },
}

const stepOption = (invocation: Invocation): { atStep?: number } => {
  const typed = textOption(invocation, 'at-step')
  if (typed === undefined) return {}
  if (!/^[1-9]\d{0,8}$/.test(typed))
    throw new UsageError(`"${typed}" is not a model call: write its number, from 1 on.`)
  return { atStep: Number(typed) }
}
