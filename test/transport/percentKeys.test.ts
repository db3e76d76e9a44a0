/** A key is recognised where a server encodes its letters, too. */
import { expect, test } from 'vitest'
import { redact } from '../../src/transport/redact.ts'

const percent = (text: string, digits = (code: number) => code.toString(16)) =>
  [...text].map((char) => `%${digits(char.charCodeAt(0))}`).join('')

test('letters, digits and all, once or twice, in part or in whole', () => {
  const key = 'Kq7-secret-Zz9'
  const capital = percent(key, (code) => code.toString(16).toUpperCase())
  const forms = [percent(key), capital, percent(key).replaceAll('%', '%25'), `Kq7-${percent('secret')}-Zz9`]
  for (const form of forms) expect(redact(`key=${form}!`, [key])).not.toContain(form)
})
