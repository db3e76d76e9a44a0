import { open as openInspected } from './statewireInspected.mjs'

/** An inspected agent with a page open all the time. */
export const open = async (options) => {
  const contender = await openInspected(options)
  await contender.openPage()
  return contender
}
