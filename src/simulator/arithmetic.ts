export type Conversion = { value: number; from: string; to: string }

const spoken: [RegExp, string][] = [
  [/(\d+(?:\.\d+)?)\s*(?:%|percent)\s+of\s+(?=[\d(])/gi, '$1 / 100 * '],
  [/\b(?:the )?square root of\s+(\d+(?:\.\d+)?)/gi, 'sqrt($1)'],
  [/(?<=[\d)])\s+plus\s+(?=[\d(s])/gi, ' + '],
  [/(?<=[\d)])\s+minus\s+(?=[\d(s])/gi, ' - '],
  [/(?<=[\d)])\s+(?:times|multiplied by)\s+(?=[\d(s])/gi, ' * '],
  [/(?<=[\d)])\s+divided by\s+(?=[\d(s])/gi, ' / '],
  [/(?<=[\d)])\s+to the power of\s+(?=[\d(s])/gi, ' ^ '],
  [/(?<=[\d)])\s+squared\b/gi, ' ^ 2'],
  [/×/g, '*'],
  [/÷/g, '/'],
  [/[−–](?=\s*[\d(])/g, '-'],
]

/** The text with spoken arithmetic in signs: "12 times 7" becomes "12 * 7". */
export const inSigns = (text: string): string =>
  spoken.reduce((said, [pattern, sign]) => said.replace(pattern, sign), text)

const operand = String.raw`\(*\s*-?\s*(?:sqrt\s*)?\(*\s*-?\d+(?:\.\d+)?(?:\s*\))*`
const calculation = new RegExp(
  String.raw`${operand}(?:\s*(?:\*\*|[-+*/^])\s*${operand})+|sqrt\s*\(\s*\d+(?:\.\d+)?\s*\)`,
  'g',
)

/** Arithmetic in signs or in words; what is only a number is none. */
export const expressionsIn = (text: string): string[] => [
  ...new Set(
    [...inSigns(text).matchAll(calculation)]
      .map(([found]) => balanced(found.trim()))
      .filter((expression) => expression !== ''),
  ),
]

/** Brackets of the sentence around an expression do not belong to it. */
const balanced = (expression: string): string => {
  const opened = expression.split('(').length
  const closed = expression.split(')').length
  if (opened > closed && expression.startsWith('(')) return balanced(expression.slice(1).trim())
  if (closed > opened && expression.endsWith(')')) return balanced(expression.slice(0, -1).trim())
  return opened === closed ? expression : ''
}

export const rangeIn = (text: string): [low: number, high: number] | undefined => {
  const found = /\bbetween (-?\d+(?:\.\d+)?) and (-?\d+(?:\.\d+)?)/i.exec(text)
  return found ? [Number(found[1]), Number(found[2])] : undefined
}

const unit = String.raw`(°?[\p{L}][\p{L}/²³]*)`
const toUnit = new RegExp(
  String.raw`(-?\d+(?:\.\d+)?)\s*(?:degrees\s+)?${unit}\s+(?:to|into|in|as)\s+(?:degrees\s+)?${unit}`,
  'iu',
)
const howMany = new RegExp(
  String.raw`\bhow many ${unit}\s+(?:are|is|in|make)\s+(?:there in\s+)?(-?\d+(?:\.\d+)?)\s*(?:degrees\s+)?${unit}`,
  'iu',
)

/** "5 miles to km", "how many km are 5 miles". */
export const conversionIn = (text: string): Conversion | undefined => {
  const asked = howMany.exec(text)
  if (asked) return { value: Number(asked[2]), from: asked[3] ?? '', to: asked[1] ?? '' }
  const found = toUnit.exec(text)
  return found ? { value: Number(found[1]), from: found[2] ?? '', to: found[3] ?? '' } : undefined
}
