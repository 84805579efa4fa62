// Estimates the tokens of a text as the crate `toolglot-tools` does: 4 characters to a token, or 2 Chinese, Japanese or Korean ones.
const WIDE = /[\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\u{20000}-\u{3ffff}]/gu;

export function tokens(text) {
  const wide = text.match(WIDE)?.length ?? 0;
  const all = [...text].length;
  return Math.ceil((all - wide) / 4) + Math.ceil(wide / 2);
}
