import { type Conversion, conversionIn, expressionsIn, rangeIn } from './arithmetic.ts'
import { namesIn, placesIn } from './properNames.ts'

/** What a text names that could be an argument of a tool, or a value of an answer. */
export type Facts = {
  text: string
  places: string[]
  names: string[]
  numbers: number[]
  expressions: string[]
  files: string[]
  links: string[]
  emails: string[]
  dates: string[]
  quotes: string[]
  /** The two ends of "between … and …". */
  range: [low: number, high: number] | undefined
  conversion: Conversion | undefined
}

export const factsOf = (text: string): Facts => {
  const links = all(text, /\bhttps?:\/\/[^\s"')>]*[^\s"')>.,;?!]/g)
  const emails = all(text, /\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g)
  const plain = without(text, [...links, ...emails])
  const files = all(plain, /(?:\.{0,2}\/)?(?:[\w-]+\/)*[\w-]*\.[A-Za-z][A-Za-z0-9]{0,9}\b(?![/\w])/g).filter(
    isFile,
  )
  const dates = all(plain, /\b\d{4}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:\d\d)?)?\b/g)
  const words = without(plain, [...files, ...dates]).replace(/(?<=\d),(?=\d{3}\b)/g, '')
  return {
    text,
    links,
    emails,
    files,
    dates,
    quotes: all(text, /"([^"\n]+)"|“([^”\n]+)”|(?<![\p{L}\d])'([^'\n]+)'(?!\p{L})/gu),
    places: placesIn(words),
    names: namesIn(words),
    numbers: all(words, /(?<![\w.])-?\d+(?:\.\d+)?(?![\w.]*[A-Za-z])/g).map(Number),
    expressions: expressionsIn(words),
    range: rangeIn(words),
    conversion: conversionIn(words),
  }
}

/** What the first text names; for each kind it names nothing of, what the others do. */
export const mergeFacts = (first: Facts, ...others: Facts[]): Facts => {
  const pick = <K extends keyof Facts>(kind: K): Facts[K] =>
    [first, ...others]
      .map((facts) => facts[kind])
      .find((found) => (Array.isArray(found) ? found.length > 0 : found !== undefined)) ?? first[kind]
  return {
    text: first.text,
    places: pick('places'),
    names: pick('names'),
    numbers: pick('numbers'),
    expressions: pick('expressions'),
    files: pick('files'),
    links: pick('links'),
    emails: pick('emails'),
    dates: pick('dates'),
    quotes: pick('quotes'),
    range: pick('range'),
    conversion: pick('conversion'),
  }
}

const all = (text: string, pattern: RegExp): string[] => [
  ...new Set([...text.matchAll(pattern)].map((match) => match.slice(1).find(Boolean) ?? match[0])),
]

const without = (text: string, parts: string[]): string =>
  parts.reduce((rest, part) => rest.replaceAll(part, ' '), text)

const isFile = (text: string): boolean =>
  !/^(e\.g|i\.e|a\.m|p\.m)$/i.test(text) && /[\w-]\.\w|(^|\/)\.\w/.test(text)
