import type { RunInfo } from '../../durable/index.ts'
import { callLine } from '../toolLine.ts'
import { shellWord } from './shellWord.ts'

/** What a run waits for, each call with what can be typed to go on. `file`: what names its file on the command line. */
export const pendingLines = ({ id, pending }: RunInfo, file: string): string[] =>
  pending.flatMap((call) => {
    const where = [id, call.id].map(shellWord).join(' ')
    const doubt = call.inDoubt
      ? ['      It was running when its process ended: whether it took effect is not known.']
      : []
    const commands =
      call.kind === 'approval'
        ? [`approve${file} ${where}`, `reject${file} ${where}`]
        : [`answer${file} ${where} "…"`, `reject${file} ${where}`]
    return [`  ? ${callLine(call)}`, ...doubt, ...commands.map((each) => `      statewire runs ${each}`)]
  })
