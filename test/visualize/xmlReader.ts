export type Element = { name: string; attributes: Map<string, string>; children: Element[]; text: string }

const entities = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
])

const decode = (text: string): string => {
  if (/&(?!(amp|lt|gt|quot|#\d+);)/.test(text)) throw new Error(`A bare & in ${text}`)
  return text.replace(/&(?:#(\d+)|(\w+));/g, (_, code?: string, name?: string) =>
    code ? String.fromCodePoint(Number(code)) : (entities.get(name ?? '') ?? ''),
  )
}

/** Reads XML of the plainest kind and throws at the first thing that is not well-formed. */
export const readXml = (xml: string): Element => {
  const top: Element = { name: '', attributes: new Map(), children: [], text: '' }
  const open = [top]
  const token = /<(\/?)([a-zA-Z]+)((?:\s+[\w:-]+="[^"<]*")*)\s*(\/?)>|([^<]+)/y
  while (token.lastIndex < xml.length) {
    const at = token.lastIndex
    const [whole, close, name = '', attributes = '', isEmpty, text] = token.exec(xml) ?? []
    const current = open.at(-1)
    if (whole === undefined || !current) throw new Error(`Not well-formed: ${xml.slice(at, at + 60)}`)
    if (text !== undefined) current.text += decode(text)
    else if (close) {
      if (current.name !== name) throw new Error(`</${name}> closes <${current.name}>`)
      open.pop()
    } else {
      const element: Element = { name, attributes: new Map(), children: [], text: '' }
      for (const [, key = '', value = ''] of attributes.matchAll(/([\w:-]+)="([^"]*)"/g)) {
        if (element.attributes.has(key)) throw new Error(`${key} twice in <${name}>`)
        element.attributes.set(key, decode(value))
      }
      current.children.push(element)
      if (!isEmpty) open.push(element)
    }
  }
  const [root] = top.children
  if (open.length !== 1 || !root || top.children.length !== 1) throw new Error('Not one whole element.')
  return root
}

export const allOf = (element: Element): Element[] => [element, ...element.children.flatMap(allOf)]
