import { ConfigurationError, describeThrown } from '../messages/errors.ts'
import { copyJson, isJsonObject } from '../messages/json.ts'

/** How much of a prompt a list shows. */
const shownPrompt = 200

/** The beginning of a prompt. It may be anything: the run itself says what is wrong with it. */
export const promptText = (prompt: unknown): string => {
  if (typeof prompt === 'string') return prompt.slice(0, shownPrompt)
  if (!Array.isArray(prompt)) return ''
  const texts = prompt.map((part) => (isJsonObject(part) && typeof part.text === 'string' ? part.text : ''))
  return texts.join('').slice(0, shownPrompt)
}

/** Refuses an id that could not be shown or sent anywhere. */
export const checkId = (id: unknown): void => {
  if (typeof id !== 'string' || id === '' || id.length > 200 || /\p{Cc}/u.test(id))
    throw new ConfigurationError('An id must be 1 to 200 characters, none of them a control character.')
}

/** What the tools of a run get, as it is stored. */
export const contextJson = (context: unknown): string | undefined => {
  if (context === undefined) return undefined
  try {
    return JSON.stringify(copyJson(context))
  } catch (cause) {
    throw new ConfigurationError(
      `The context of a stored run must be JSON: it holds ${describeThrown(cause)}. Make what cannot be stored in openRuns({ context }).`,
      { cause },
    )
  }
}
