type Capital = { text: string; isPlace: boolean }

const common = new Set(
  (
    'I The A An And Or But Is Are Was Were Do Does Did Can Could Would Please What Which Who Where When Why How Tell Give ' +
    'Show Compare Convert Calculate Read Find Search List Count Say Write Use Now First Then My Hello Hi Hey Thanks ' +
    'Monday Tuesday Wednesday Thursday Friday Saturday Sunday January February March April May June July August ' +
    'September October November December UTC JSON English Celsius Fahrenheit Kelvin'
  ).split(' '),
)

/** Places: names after a preposition, and those listed with one; without any, all names there are. */
export const placesIn = (text: string): string[] => {
  const capitals = capitalsIn(text)
  const places = capitals.filter(({ isPlace }) => isPlace)
  if (capitals.length > 0) return unique(places.length > 0 ? places : capitals)
  return [...text.matchAll(/\b(?:in|at|near)\s+(\p{Ll}{3,}(?:\s(?:and|or)\s\p{Ll}{3,})*)/gu)]
    .flatMap(([, found = '']) => found.split(/\s(?:and|or)\s/))
    .filter((word) => !notPlace.test(word))
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
}

/** Names of people and things: those that are not places; without any, all. */
export const namesIn = (text: string): string[] => {
  const capitals = capitalsIn(text)
  const names = capitals.filter(({ isPlace }) => !isPlace)
  return unique(names.length > 0 ? names : capitals)
}

const notPlace =
  /^(the|this|that|these|his|her|our|your|words?|short|general|detail|order|time|total|one|two|three|degrees|.*(?:metres|meters|miles|celsius|fahrenheit|grams?|feet|inches|pounds))$/

const unique = (capitals: Capital[]): string[] => [...new Set(capitals.map(({ text }) => text))]

/** Words with a capital. A sentence's first word counts where a list or a verb follows that only a name can have. */
const capitalsIn = (text: string): Capital[] => {
  const found: Capital[] = []
  let wasPlace = false
  for (const match of text.matchAll(
    /\p{Lu}[\p{L}'’-]+(?:\s(?:(?:de|da|del|la|am|upon)\s)?\p{Lu}[\p{L}'’-]+)*/gu,
  )) {
    const before = text.slice(0, match.index)
    const after = text.slice(match.index + match[0].length)
    const words = match[0].replace(/['’]s$/, '').split(/\s/)
    while (words[0] !== undefined && common.has(words[0])) words.shift()
    const isFirst = /(?:^|[.?!:\n])\s*$/.test(before) && words.length === match[0].split(/\s/).length
    const isNamed =
      /^(?:,| and | or |\s*[.?!]?\s*$| (?:is|was|has|had|lives|works|likes|wants|needs|said)\b)/.test(after)
    if (words.length === 0 || (isFirst && !isNamed)) continue
    const isListed: boolean = /(?:,| and| or|&)\s*$/.test(before) && wasPlace
    wasPlace = /\b(?:in|at|near|from|to|for|of|around|between)\s*$/.test(before) || isListed
    found.push({ text: words.join(' '), isPlace: wasPlace })
  }
  return found
}
