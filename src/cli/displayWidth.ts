const wide =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60]/u
const noRoom = /[\p{Mn}\p{Me}\p{Cf}]/u

/** Whether a sign takes two columns of a terminal. Lines may break before and after it. */
export const isWide = (sign: string): boolean => sign > '\u1100' && wide.test(sign)

/** How many columns of a terminal a text takes. */
export const displayWidth = (text: string): number => {
  let width = 0
  for (const sign of text) {
    if (isWide(sign)) width += 2
    else if (sign < '\u0300' || !noRoom.test(sign)) width += 1
  }
  return width
}
