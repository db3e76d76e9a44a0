const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '\n': '&#10;',
  '\r': '&#13;',
  '\t': '&#9;',
}

/** Any text, as XML text or as the value of an attribute; characters that XML cannot hold are replaced. */
export const escapeXml = (text: string): string =>
  text
    .replace(/[^\P{Cc}\t\n\r]|\p{Cs}|\p{Noncharacter_Code_Point}/gu, '\ufffd')
    .replace(/[&<>"'\n\r\t]/g, (char) => entities[char] ?? char)
