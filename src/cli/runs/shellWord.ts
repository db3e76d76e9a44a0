import { oneLine } from '../paint.ts'

/** A word quoted for a shell: it may come from a file, and the user may copy it. */
export const shellWord = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${oneLine(text).replaceAll("'", "'\\''")}'`
