import { checkNode, checkProviders, type Health } from '../checkProviders.ts'
import type { Command, Invocation } from '../command.ts'
import { exit } from '../exit.ts'
import type { Paint } from '../paint.ts'
import { table } from '../table.ts'

export const doctor: Command = {
  name: 'doctor',
  summary: 'Checks which providers you can use from here',
  operands: '[provider…]',
  options: {},
  details: [
    'Asks every provider at once: is a key set, does the server answer, does it',
    'accept the key. A key is sent to its own provider only, and never shown. The',
    'exit code is 0 if you can use at least one provider.',
  ],
  run: async ({ words, screen, env }: Invocation) => {
    const { paint } = screen
    const found = await checkProviders(words, env)
    const rows = found.map(({ name, isUsable, key, server, hint }) => [
      markOf(isUsable, paint),
      paint.bold(name),
      key,
      server,
      paint.dim(hint),
    ])
    for (const row of table([nodeRow(paint), ...rows])) screen.line(row)
    screen.line()
    screen.line(conclusion(found, paint))
    return found.some(({ isUsable }) => isUsable) ? exit.complete : exit.failed
  },
}

const nodeRow = (paint: Paint): string[] => {
  const { isGood, hint } = checkNode(process.versions.node)
  return [
    isGood ? paint.green('✓') : paint.red('✗'),
    paint.bold('node'),
    process.versions.node,
    '',
    paint.dim(hint),
  ]
}

const markOf = (isUsable: boolean, paint: Paint): string => (isUsable ? paint.green('✓') : paint.dim('–'))

const conclusion = (found: readonly Health[], paint: Paint): string => {
  const usable = found.filter(({ isUsable }) => isUsable).map(({ name }) => name)
  if (usable.length > 0) return `Ready: ${paint.green(usable.join(', '))}.`
  const isOffline = found.every(({ server }) => server === 'not reachable')
  const network = isOffline ? 'Nothing answers: is there a network?\n' : ''
  return `${network}No provider can be used yet. Set one of the keys, or start Ollama; until then the\nbuilt-in simulator answers.`
}
