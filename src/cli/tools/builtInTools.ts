import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import path, { type PlatformPath } from 'node:path'
import { z } from 'zod'
import { type Tool, tool } from '../../tools/tool.ts'
import { calculator } from './calculator.ts'

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
  const time = joined(format({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }))
  const day = joined(format({ weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' }))
  const offset = format({ timeZoneName: 'shortOffset' }).find(({ type }) => type === 'timeZoneName')?.value
  return `In ${place.trim()} it is ${time} on ${day} (${timeZone}, ${offset}).`
}

const joined = (parts: Intl.DateTimeFormatPart[]): string => parts.map(({ value }) => value).join('')

const currentTime: Tool = tool({
  name: 'current_time',
  description: 'The current date and time in a time zone or city',
  input: z.object({ zone: z.string().describe('Such as Europe/Oslo, or a city such as Tokyo') }),
  execute: ({ zone }) => timeIn(zone),
})

const mostBytes = 64 * 1024

/** Reads a text file below a folder. Links that lead out of it, hidden files, keys and large files are refused. */
export const readBelow = async (root: string, wanted: string): Promise<string> => {
  if (wanted.trim() === '' || wanted.includes('\0')) throw new Error('A path is needed.')
  const folder = await realpath(root)
  const asked = path.resolve(folder, wanted)
  refuseForbidden(folder, asked, wanted)
  const real = await realpath(asked).catch(() => {
    throw new Error(`There is no file ${wanted}.`)
  })
  refuseForbidden(folder, real, wanted)
  // Opens exactly the file that was checked: a link that replaced it meanwhile is not followed. Windows has neither flag.
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  try {
    const { size, isFile } = await file.stat().then((stat) => ({ size: stat.size, isFile: stat.isFile() }))
    if (!isFile) throw new Error(`${wanted} is not a file.`)
    if (size > mostBytes) throw new Error(`${wanted} has ${size} bytes; at most ${mostBytes} are read.`)
    return textOf(await file.readFile(), wanted)
  } finally {
    await file.close()
  }
}

const refuseForbidden = (folder: string, place: string, wanted: string): void => {
  const problem = problemOf(folder, place)
  if (problem !== undefined) throw new Error(`${wanted} ${problem}`)
}

/** The reason why a place is not read, by the rules of a platform's paths; undefined for one that is. */
export const problemOf = (
  folder: string,
  place: string,
  { relative, isAbsolute, sep }: PlatformPath = path,
): string | undefined => {
  const inside = relative(folder, place)
  if (inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside))
    return 'is outside of the current folder.'
  // On Windows "server.key::$DATA" and "server.key." are other names of the same file.
  const names = inside.split(sep).map((name) => (sep === '\\' ? name.replace(/:.*$|[. ]+$/s, '') : name))
  const isHidden = names.some((name) => name.startsWith('.'))
  return isHidden || /\.(?:pem|key|p12|pfx)$/i.test(names.at(-1) ?? '')
    ? 'is hidden, or looks like a key: it is not read.'
    : undefined
}

const textOf = (bytes: Buffer, wanted: string): string => {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    if (!text.includes('\0')) return text
  } catch {}
  throw new Error(`${wanted} is not a text file.`)
}

export const readFile: Tool = tool({
  name: 'read_file',
  description: 'Reads a text file below the current folder',
  input: z.object({ path: z.string().describe('Relative to the current folder, such as docs/guide.md') }),
  needsApproval: true,
  execute: ({ path }) => readBelow(process.cwd(), path),
})

/** The tools of the command line: safe, and they need no network. */
export const builtInTools: readonly Tool[] = [calculator, currentTime, readFile]
