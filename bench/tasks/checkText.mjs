import { textOf } from '../wires/text.mjs'

const brief = (text) => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}… (${text.length})` : text)

/** A figure counts only if the whole text came; after tool rounds a contender may set it off with a newline. */
export const checkText = ({ text }, chunks) => {
  if (text.trimStart() !== textOf(chunks).trimStart()) throw new Error(`a wrong text: ${brief(text)}`)
}
