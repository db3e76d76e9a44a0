import { listModels, listProviders } from '../../../providers/registry.ts'
import { otherServer } from '../chooseModel.ts'
import { type Command, type Invocation, textOption } from '../command.ts'
import { exit } from '../exit.ts'
import { printable } from '../paint.ts'
import { table } from '../table.ts'

const patience = 15_000

export const models: Command = {
  name: 'models',
  summary: 'Lists the models of a provider, or the providers',
  operands: '[provider]',
  options: {
    'base-url': {
      type: 'string',
      value: 'url',
      about: 'another server that speaks the protocol of the provider',
    },
  },
  details: ['One model per line, asked from the provider right now.'],
  run: async (invocation) => {
    const { words, screen, env } = invocation
    const [provider] = words
    if (provider === undefined) return showProviders(invocation)
    const server = otherServer(textOption(invocation, 'base-url'), env)
    const found = await listModels(provider, { signal: AbortSignal.timeout(patience), ...server })
    for (const { id } of found.toSorted((a, b) => a.id.localeCompare(b.id))) screen.line(printable(id))
    return exit.complete
  },
}

const showProviders = ({ screen, env }: Invocation): number => {
  const { paint } = screen
  const rows = listProviders().map(({ name, keyVariable, defaultModel }) => {
    const isSet = keyVariable !== undefined && Boolean(env[keyVariable]?.trim())
    const key = keyVariable ?? '–'
    return [paint.bold(name), defaultModel || '–', isSet ? paint.green(`${key} ✓`) : paint.dim(key)]
  })
  for (const line of table([['PROVIDER', 'DEFAULT MODEL', 'KEY'].map(paint.dim), ...rows])) screen.line(line)
  return exit.complete
}
