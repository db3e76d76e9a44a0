/** Values that hardly any option takes. */
export const badValues = {
  undefined: undefined,
  null: null,
  NaN: Number.NaN,
  '-1': -1,
  Infinity: Number.POSITIVE_INFINITY,
  'an empty text': '',
  'a wrong word': 'wrong',
  'an empty object': {},
  'an empty list': [],
  'a function': () => {},
  'a symbol': Symbol('s'),
}

export type BadValue = keyof typeof badValues

export const names = Object.keys(badValues) as BadValue[]

/** For each option, the values that it takes all the same. Undefined counts as absent, and is always taken. */
export type Takes<Options> = Readonly<Record<keyof Options & string, readonly BadValue[]>>

/** Every option of a table with every value: what is taken, and what is refused. */
export const rows = (takes: Readonly<Record<string, readonly BadValue[]>>) => {
  const all = Object.entries(takes).flatMap(([option, taken]) =>
    names.map((name) => ({ option, name, isTaken: name === 'undefined' || taken.includes(name) })),
  )
  return { taken: all.filter(({ isTaken }) => isTaken), refused: all.filter(({ isTaken }) => !isTaken) }
}

/** Options with one more, which may be inside of others: `retry.maxRetries`. */
export const withOption = <T extends object>(options: T, path: string, value: unknown): T => {
  const [name = '', ...inner] = path.split('.')
  return { ...options, [name]: inner.length === 0 ? value : withOption({}, inner.join('.'), value) }
}

export const withoutOption = <T extends object>(options: T, path: string): T => {
  const { [path.split('.')[0] as keyof T]: _, ...rest } = options
  return rest as T
}
