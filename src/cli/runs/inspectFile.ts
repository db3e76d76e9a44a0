import type { Invocation } from '../command.ts'
import { exit, UsageError } from '../exit.ts'
import { openFile } from './openFile.ts'

/** Shows the runs of a file in an inspector, until Ctrl-C. */
export const inspectFile = async (invocation: Invocation): Promise<number> => {
  const { screen, words } = invocation
  if (words.length > 0) throw new UsageError('With --db there is no prompt: it shows the runs of the file.')
  const runs = await openFile(invocation)
  try {
    const { startInspector } = await import('../../inspector/index.ts')
    const inspector = await startInspector({ runs })
    screen.line(`Inspector: ${screen.paint.cyan(inspector.url)}`)
    screen.note(
      screen.notePaint.dim(
        'It shows the stored runs, and stores your decisions in the file. Ctrl-C to leave.',
      ),
    )
    await new Promise((resolve) => process.once('SIGINT', resolve))
    await inspector.close()
  } finally {
    await runs.close()
  }
  return exit.complete
}
