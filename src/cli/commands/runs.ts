import { nearest } from '../../messages/optionNames.ts'
import type { Command, Invocation } from '../command.ts'
import { UsageError } from '../outcome.ts'
import type { RunsAction } from '../runs/action.ts'
import { list, prune } from '../runs/list.ts'
import { openStore } from '../runs/openStore.ts'
import { abort, answer, approve, fork, reject, steer } from '../runs/send.ts'
import { show } from '../runs/show.ts'
import { stream } from '../runs/stream.ts'

const actions: readonly RunsAction[] = [
  list,
  show,
  stream,
  approve,
  reject,
  answer,
  steer,
  abort,
  fork,
  prune,
]

export const runs: Command = {
  name: 'runs',
  summary: 'Shows stored runs, and answers them',
  operands: '[action]',
  options: {
    db: { type: 'string', value: 'path', about: 'their file, or postgresql://…; default runs.db' },
    json: { type: 'boolean', about: 'list, show, stream: JSON, one line each' },
    status: { type: 'string', value: 'name', about: 'list, prune: only those with this status' },
    agent: {
      type: 'string',
      value: 'name',
      about: 'list: only those of an agent; fork: who continues',
    },
    limit: { type: 'string', value: 'n', about: 'list: how many; default 50' },
    after: { type: 'string', value: 'cursor', about: 'stream: only what follows this cursor' },
    reason: { type: 'string', value: 'text', about: 'reject, abort: why' },
    'at-step': { type: 'string', value: 'n', about: 'fork: from before this model call' },
    id: { type: 'string', value: 'id', about: 'fork: the id of the new run' },
    'older-than': { type: 'string', value: 'time', about: 'prune: such as 30d, 12h' },
    chats: { type: 'boolean', about: 'prune: also chats that have not changed since' },
    yes: { type: 'boolean', about: 'prune: without asking' },
  },
  details: [
    ...actions.map(({ name, operands, summary }) => `  ${`${name} ${operands}`.padEnd(30)}${summary}`),
    '',
    'Without a call id, the only waiting call is meant.',
    'This command runs no agent: it stores a decision, and the program that runs the',
    'agents, or the next one that opens them, continues the run. A database needs the',
    'package @dbos-inc/dbos-sdk; PGPASSWORD may hold its password.',
  ],
  run: async (invocation) => {
    const [name = list.name, ...words] = invocation.words
    const action = actions.find((each) => each.name === name)
    if (!action) throw new UsageError(unknown(name))
    checkOptions(action, invocation)
    const store = await openStore(invocation)
    try {
      return await action.run({ ...invocation, words }, store)
    } finally {
      await store.close()
    }
  },
}

const unknown = (name: string): string => {
  const names = actions.map((each) => each.name)
  const meant = nearest(name, names)
  return `There is no "runs ${name}".${meant ? ` Did you mean "${meant}"?` : ` There are: ${names.join(', ')}.`}`
}

const checkOptions = ({ name, options }: RunsAction, { values }: Invocation): void => {
  const useless = Object.keys(values).find((each) => each !== 'db' && !options.includes(each))
  if (useless !== undefined) throw new UsageError(`"runs ${name}" has no --${useless}.`)
}
