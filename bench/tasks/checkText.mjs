import { textOf } from '../wires/text.mjs'

const brief = (text) => JSON.stringify(text.length > 80 ? `${text.slice(0, 80)}… (${text.length})` : text)

/**
 * A figure counts only if the whole text came, that of every answer. After tool rounds and between answers a contender
 * may set it off with a newline.
 */
export const checkText = ({ text, texts = [text] }, chunks, answers = 1) => {
  if (texts.length !== answers) throw new Error(`${texts.length} texts instead of ${answers}`)
  const whole = textOf(chunks).trimStart()
  const wrong = texts.find((each) => each.trimStart() !== whole)
  if (wrong !== undefined) throw new Error(`a wrong text: ${brief(wrong)}`)
}
