import type { Command, OptionSpec } from './command.ts'
import type { Paint } from './paint.ts'

export const overview = (commands: readonly Command[], paint: Paint): string =>
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

/** Two columns, the first as wide as its widest entry. */
export const columns = (rows: [string, string][], paint: Paint): string[] => {
  const width = Math.max(...rows.map(([first]) => first.length))
  return rows.map(([first, second]) => `  ${paint.cyan(first.padEnd(width))}  ${second}`.trimEnd())
}
