import type { RunInfo } from '../../durable/index.ts'
import { pendingLine } from '../pendingLine.ts'
import { shellWord } from './shellWord.ts'

/** What a run waits for, each call with the commands that answer it. `file`: what names its file on the command line. */
export const pendingLines = ({ id, pending }: RunInfo, file: string): string[] =>
  pending.flatMap((call) => {
    const where = [id, call.id].map(shellWord).join(' ')
    const doubt = call.inDoubt
      ? ['      It was running when its process ended: it is not known whether it took effect.']
      : []
    const commands =
      call.kind === 'answer'
        ? [`answer${file} ${where} "…"`, `reject${file} ${where}`]
        : [`approve${file} ${where}`, `reject${file} ${where}`]
    const question = call.kind === 'limit' ? `${pendingLine(call)} Go on?` : pendingLine(call)
    return [`  ? ${question}`, ...doubt, ...commands.map((each) => `      statewire runs ${each}`)]
  })
