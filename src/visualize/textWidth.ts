const classes: readonly [RegExp, number][] = [
  [/[ijl|'`]/, 0.23],
  [/[ftrI.,:;!()[\]{}/\\\- "]/, 0.32],
  [/[mwMW@%]/, 0.86],
  [/[A-Z&#]/, 0.69],
  // Wide scripts and pictures take a whole square.
  [/[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60]|[\u{1f000}-\u{1faff}]/u, 1.1],
]

/** How wide a text is in a common sans-serif font, a little generous: nothing can be measured without a browser. */
export const textWidth = (text: string, fontSize: number, isBold = false): number => {
  let width = 0
  for (const char of text) width += classes.find(([chars]) => chars.test(char))?.[1] ?? 0.56
  return Math.ceil(width * fontSize * (isBold ? 1.1 : 1.03))
}
