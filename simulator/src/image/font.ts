/** Width and height of a glyph in dots; the last row is for what hangs below the line. */
export const GLYPH_WIDTH = 5
export const GLYPH_HEIGHT = 8

/** From the space to the tilde, in the order of ASCII: a glyph's rows from the top, each a digit of base 32 for five dots. */
const GLYPHS = [
  '00000000 44444040 aaa00000 aavavaa0 4fke5u40 op248j30 cik8lid0 44800000', //   ! " # $ % & '
  '24888420 84222480 04lel400 044v4400 00000448 000v0000 00000cc0 01248g00', // ( ) * + , - . /
  'ehjlphe0 4c4444e0 eh1248v0 v2421he0 26aiv220 vgu11he0 68guhhe0 v1248880', // 0 1 2 3 4 5 6 7
  'ehhehhe0 ehhf12c0 0cc0cc00 0cc0c480 248g8420 00v0v000 84212480 eh124040', // 8 9 : ; < = > ?
  'eh1dlle0 ehhvhhh0 uhhuhhu0 ehggghe0 uhhhhhu0 vgguggv0 vgguggg0 ehgnhhf0', // @ A B C D E F G
  'hhhvhhh0 e44444e0 72222ic0 hikokih0 ggggggv0 hrlhhhh0 hhpljhh0 ehhhhhe0', // H I J K L M N O
  'uhhuggg0 ehhhlid0 uhhukih0 fgge11u0 v4444440 hhhhhhe0 hhhhha40 hhhllla0', // P Q R S T U V W
  'hha4ahh0 hha44440 v1248gv0 e88888e0 0g842100 e22222e0 4ah00000 0000000v', // X Y Z [ \ ] ^ _
  '84200000 00e1fhf0 gguhhhu0 00fgggf0 11fhhhf0 00ehvge0 698s8880 00fhhf1e', // ` a b c d e f g
  'gguhhhh0 40c444e0 202222ic ggikoki0 c44444e0 00qlllh0 00uhhhh0 00ehhhe0', // h i j k l m n o
  '00uhhugg 00fhhf11 00mpggg0 00fge1u0 88s88960 00hhhhf0 00hhha40 00hhlla0', // p q r s t u v w
  '00ha4ah0 00hhhf1e 00v248v0 24484420 44444440 84424480 008l2000', // x y z { | } ~
].flatMap(row => row.split(' ').map(glyph => Array.from(glyph, digit => Number.parseInt(digit, 32))))

const FIRST = 0x20
/** What has no glyph is shown as a box. */
const BOX: readonly number[] = [31, 17, 17, 17, 17, 17, 31, 0]

/** The rows of a character from the top; in each the highest of five bits is the leftmost dot. */
export function glyphOf(character: string): readonly number[] {
  return GLYPHS[(character.codePointAt(0) ?? 0) - FIRST] ?? BOX
}

/** Signs that print has and typewriters have not. */
const TYPED: readonly (readonly [RegExp, string])[] = [
  [/[\u2018\u2019]/g, "'"],
  [/[\u201c\u201d]/g, '"'],
  [/[\u2010-\u2015]/g, '-'],
]

/** The text without accents and curly quotes, and with any white space as single spaces, so that more of it has glyphs. */
export function plain(text: string): string {
  const bare = text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .replace(/\s+/gu, ' ')
    .trim()
  return TYPED.reduce((typed, [signs, sign]) => typed.replace(signs, sign), bare)
}
