import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join, posix, win32 } from 'node:path'
import { describe, expect, it } from 'vitest'
import { builtInTools, problemOf, readBelow, timeIn, zoneOf } from '../../src/cli/tools/builtInTools.ts'
import { folder } from './spawned.ts'

describe('current_time', () => {
  const moment = new Date('2025-11-15T23:30:00Z')

  it('gives time and day where the place is', () => {
    expect(timeIn('Tokyo', moment)).toBe(
      'In Tokyo it is 08:30 on Sunday, 16 November 2025 (Asia/Tokyo, GMT+9).',
    )
    expect(timeIn('America/New_York', moment)).toContain(
      '18:30 on Saturday, 15 November 2025 (America/New_York, GMT-5)',
    )
    expect(timeIn('UTC', moment)).toContain('23:30')
  })

  it('knows places by zone, by city, and by a few other names', () => {
    expect(
      ['europe/oslo', 'Oslo', 'new york', 'Buenos Aires', 'San Francisco', 'Mumbai', 'US/Pacific'].map(
        zoneOf,
      ),
    ).toEqual([
      'Europe/Oslo',
      'Europe/Oslo',
      'America/New_York',
      expect.stringMatching(/Buenos_Aires$/),
      'America/Los_Angeles',
      'Asia/Kolkata',
      'US/Pacific',
    ])
  })

  it('says what to give instead of a place that it does not know', () => {
    expect(() => zoneOf('Atlantis')).toThrow('No time zone is known for "Atlantis". Give one by its name')
    expect(() => zoneOf('constructor')).toThrow('No time zone')
  })
})

describe('read_file', () => {
  it('reads a text file below the folder, also through a link that stays inside', async () => {
    const root = await folder()
    await mkdir(join(root, 'docs'))
    await writeFile(join(root, 'docs/guide.md'), 'Grüße')
    await symlink('docs/guide.md', join(root, 'link.md'))
    expect(await readBelow(root, 'docs/guide.md')).toBe('Grüße')
    expect(await readBelow(root, './docs/../link.md')).toBe('Grüße')
  })

  it('refuses what lies outside, hidden files, keys, folders, large files and binary files', async () => {
    const [root, outside] = await Promise.all([folder(), folder()])
    await writeFile(join(outside, 'secret.txt'), 'secret')
    await symlink(outside, join(root, 'out'))
    await symlink(join(outside, 'secret.txt'), join(root, 'innocent.txt'))
    await writeFile(join(root, '.env'), 'KEY=1')
    await symlink('.env', join(root, 'settings.txt'))
    await writeFile(join(root, 'server.key'), 'key')
    await writeFile(join(root, 'large.txt'), 'x'.repeat(64 * 1024 + 1))
    await writeFile(join(root, 'image.png'), Buffer.from([0x89, 0x50, 0, 1]))
    const refusal = (path: string) => readBelow(root, path).catch((error: Error) => error.message)
    expect(await refusal('../secret.txt')).toContain('outside')
    expect(await refusal('/etc/passwd')).toContain('outside')
    expect(await refusal('out/secret.txt')).toContain('outside')
    expect(await refusal('innocent.txt')).toContain('outside')
    expect(await refusal('.env')).toContain('hidden')
    expect(await refusal('settings.txt')).toContain('hidden')
    expect(await refusal('server.key')).toContain('looks like a key')
    expect(await refusal('.')).toContain('not a file')
    expect(await refusal('large.txt')).toContain('65537 bytes')
    expect(await refusal('image.png')).toContain('not a text file')
    expect(await refusal('missing.txt')).toBe('There is no file missing.txt.')
    expect(await refusal('a\0b')).toBe('A path is needed.')
  })

  it.each([
    ['C:\\project\\docs\\guide.md', undefined],
    ['C:\\project\\..notes.md', 'hidden'],
    ['c:\\PROJECT\\guide.md', undefined],
    ['C:\\project2\\guide.md', 'outside'],
    ['C:\\guide.md', 'outside'],
    ['D:\\project\\guide.md', 'outside'],
    ['\\\\server\\share\\guide.md', 'outside'],
    ['C:\\project\\.env', 'hidden'],
    ['C:\\project\\docs\\.git\\config', 'hidden'],
    ['C:\\project\\server.KEY', 'looks like a key'],
    ['C:\\project\\server.key.', 'looks like a key'],
    ['C:\\project\\server.key  ', 'looks like a key'],
    ['C:\\project\\server.key::$DATA', 'looks like a key'],
    ['C:\\project\\guide.md:server.key', undefined],
  ])('knows on Windows whether %s may be read', (place, problem) => {
    const found = problemOf('C:\\project', win32.resolve(place), win32)
    expect(found).toEqual(problem === undefined ? undefined : expect.stringContaining(problem))
  })

  it('takes a backslash for a part of a name elsewhere', () => {
    expect(problemOf('/project', '/project/docs\\.env', posix)).toBeUndefined()
    expect(problemOf('/project', '/project/a:b.key', posix)).toContain('looks like a key')
  })

  it('is the only built-in tool that asks first', () => {
    expect(
      builtInTools.filter(({ needsApproval }) => needsApproval === true).map(({ name }) => name),
    ).toEqual(['read_file'])
  })
})
