import { oneLine } from '../paint.ts'

/** A word as a shell takes it: it may come from a file, and somebody may copy it. */
export const shellWord = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${oneLine(text).replaceAll("'", "'\\''")}'`
