import { z } from 'zod'
import { type Tool, tool } from '../../tools/tool.ts'

/** Cities that people ask for, and that no time zone is named after. */
const otherCities: Record<string, string> = {
  bangalore: 'Asia/Kolkata',
  barcelona: 'Europe/Madrid',
  beijing: 'Asia/Shanghai',
  bergen: 'Europe/Oslo',
  boston: 'America/New_York',
  delhi: 'Asia/Kolkata',
  geneva: 'Europe/Zurich',
  hamburg: 'Europe/Berlin',
  kyoto: 'Asia/Tokyo',
  milan: 'Europe/Rome',
  mumbai: 'Asia/Kolkata',
  munich: 'Europe/Berlin',
  osaka: 'Asia/Tokyo',
  'san francisco': 'America/Los_Angeles',
  seattle: 'America/Los_Angeles',
  'washington dc': 'America/New_York',
}

/** The time zone of a place: its own name, or the name of the city it is called after. */
export const zoneOf = (place: string): string => {
  const wanted = place.trim().toLowerCase().replace(/[.,]/g, '')
  const asZone = wanted.replace(/\s+/g, '_')
  const zones = Intl.supportedValuesOf('timeZone')
  const found =
    zones.find((zone) => zone.toLowerCase() === asZone) ??
    zones.find((zone) => zone.toLowerCase().split('/').at(-1) === asZone) ??
    (Object.hasOwn(otherCities, wanted) ? otherCities[wanted] : undefined)
  if (found !== undefined) return found
  // What is not in the list of zones may still be another name of one: "UTC", "US/Pacific".
  if (isZone(place.trim())) return place.trim()
  throw new Error(
    `No time zone is known for "${place}". Give one by its name, such as Europe/Oslo or America/New_York.`,
  )
}

const isZone = (name: string): boolean => {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

/** @example timeIn('Tokyo') // 'In Tokyo it is 17:13 on Saturday, 15 November 2025 (Asia/Tokyo, GMT+9).' */
export const timeIn = (place: string, now: Date = new Date()): string => {
  const timeZone = zoneOf(place)
  const format = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat('en-GB', { timeZone, ...options }).formatToParts(now)
  const time = textOf(format({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }))
  const day = textOf(format({ weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' }))
  const offset = format({ timeZoneName: 'shortOffset' }).find(({ type }) => type === 'timeZoneName')?.value
  return `In ${place.trim()} it is ${time} on ${day} (${timeZone}, ${offset}).`
}

const textOf = (parts: Intl.DateTimeFormatPart[]): string => parts.map(({ value }) => value).join('')

export const currentTime: Tool = tool({
  name: 'current_time',
  description: 'The current date and time in a time zone or city',
  input: z.object({ zone: z.string().describe('Such as Europe/Oslo, or a city such as Tokyo') }),
  execute: ({ zone }) => timeIn(zone),
})
