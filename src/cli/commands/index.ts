import { nearest } from '../../messages/optionNames.ts'
import type { Command, OptionSpec } from '../command.ts'
import { columns, type Paint } from '../terminalText.ts'
import { chat } from './chat.ts'
import { demo } from './demo.ts'
import { doctor } from './doctor.ts'
import { embed } from './embed.ts'
import { generate } from './generate.ts'
import { graph } from './graph.ts'
import { init } from './init.ts'
import { inspect } from './inspect.ts'
import { models } from './models.ts'
import { policy } from './policy.ts'
import { run } from './run.ts'
import { runs } from './runs.ts'

export const commands: readonly Command[] = [
  chat,
  run,
  generate,
  embed,
  inspect,
  runs,
  graph,
  policy,
  models,
  doctor,
  demo,
  init,
]

/** The help for `statewire` alone. */
export const overview = (paint: Paint): string =>
  [
    `${paint.bold('statewire')} runs LLM agents as statecharts.`,
    '',
    `${paint.bold('Usage')}  statewire <command> [options]`,
    '',
    ...columns(
      commands.map(({ name, operands, summary }) => [`${name} ${operands}`.trim(), summary]),
      paint,
    ),
    '',
    'statewire <command> --help shows more about each.',
    '',
    `${paint.bold('Which model')}  --model, else STATEWIRE_MODEL, else the first provider whose key is`,
    'set, else a local Ollama, else a built-in simulator that answers by rules. The',
    'commands say which one they use, and why.',
    '',
    `${paint.bold('Exit codes')}  0 complete, 1 failed, 2 bad usage or configuration, 130 aborted.`,
  ].join('\n')

/** The help for one command. */
export const helpOf = (command: Command, paint: Paint): string =>
  [
    `${paint.bold('Usage')}  statewire ${`${command.name} ${command.operands}`.trim()} [options]`,
    '',
    `${command.summary}.${command.alias ? ` Also: statewire ${command.alias}.` : ''}`,
    ...(command.details.length > 0 ? ['', ...command.details] : []),
    '',
    ...columns([...Object.entries(command.options).map(optionRow), ['-h, --help', 'this text']], paint),
  ].join('\n')

const optionRow = ([name, { type, short, value = 'text', about }]: [string, OptionSpec]): [
  string,
  string,
] => [`${short ? `-${short}, ` : '    '}--${name}${type === 'string' ? ` <${value}>` : ''}`, about]

/** The message for a name that is not a command. */
export const unknownCommand = (name: string): string => {
  if (name.startsWith('-'))
    return `There is no option "${name}" before a command: statewire --help lists all.`
  // A model has a colon, or a slash.
  if (/^[a-z-]+[:/]\S/i.test(name))
    return `"${name}" is not a command: statewire run --model ${name} 'Your prompt'`
  const names = commands.flatMap(({ name: own, alias }) => [own, alias ?? []].flat())
  const meant = nearest(name, names)
  return `There is no command "${name}".${meant ? ` Did you mean "${meant}"?` : ` There are: ${names.join(', ')}.`}`
}
