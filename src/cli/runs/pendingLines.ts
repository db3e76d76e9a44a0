import type { RunInfo } from '../../durable/index.ts'
import { pendingLine } from '../pendingLine.ts'
import { shellWord } from './shellWord.ts'

/** What a run waits for, each call with what can be typed to go on. `file`: what names its file on the command line. */
export const pendingLines = ({ id, pending }: RunInfo, file: string): string[] =>
  pending.flatMap((call) => {
    const where = [id, call.id].map(shellWord).join(' ')
    const doubt = call.inDoubt
      ? ['      It was running when its process ended: whether it took effect is not known.']
      : []
    const commands =
      call.kind === 'answer'
        ? [`answer${file} ${where} "…"`, `reject${file} ${where}`]
        : [`approve${file} ${where}`, `reject${file} ${where}`]
    const question = call.kind === 'limit' ? `${pendingLine(call)} Go on?` : pendingLine(call)
    return [`  ? ${question}`, ...doubt, ...commands.map((each) => `      statewire runs ${each}`)]
  })
