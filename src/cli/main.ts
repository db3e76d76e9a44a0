#!/usr/bin/env node
import { version } from '../../package.json'
import { loadRegistry } from '../../providers/registry.ts'
import { readArguments } from './command.ts'
import { commands, helpOf, overview, unknownCommand } from './commands/index.ts'
import { exit, reportOf, showError, UsageError } from './outcome.ts'
import { Screen } from './Screen.ts'

const main = async (typed: readonly string[], screen: Screen): Promise<number> => {
  const [name = '', ...rest] = typed
  if (name === '' || name === 'help' || name === '--help' || name === '-h') {
    const about = commands.find(({ name: own, alias }) => own === rest[0] || (alias && alias === rest[0]))
    screen.line(about ? helpOf(about, screen.paint) : overview(screen.paint))
    return exit.complete
  }
  if (name === '--version' || name === '-V' || name === '-v' || name === 'version') {
    screen.line(version)
    return exit.complete
  }
  const command = commands.find((each) => each.name === name || each.alias === name)
  if (!command) throw new UsageError(unknownCommand(name))
  const { values, words } = readArguments(command, rest)
  if (values.help === true) {
    screen.line(helpOf(command, screen.paint))
    return exit.complete
  }
  return command.run({ values, words, screen, stdin: process.stdin, env: process.env })
}

loadRegistry()

// The reader of a pipe may leave (`| head -1`): that is not an error.
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    process.exit(error.code === 'EPIPE' ? exit.complete : exit.failed)
  })
}

const screen = new Screen(process.stdout, process.stderr, process.env)
main(process.argv.slice(2), screen)
  .catch((thrown: unknown) => {
    const report = reportOf(thrown)
    showError(report, screen)
    return report.code
  })
  // A file that was loaded may hold something open: it has no say in when this ends.
  .then((code) => process.stdout.write('', () => process.exit(code)))
