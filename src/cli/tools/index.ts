import type { Tool } from '../../tools/tool.ts'
import { calculator } from './calculator.ts'
import { currentTime } from './currentTime.ts'
import { readFile } from './readFile.ts'

/** The tools of the command line: safe, and they need no network. */
export const builtInTools: readonly Tool[] = [calculator, currentTime, readFile]
