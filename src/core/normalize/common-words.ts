/** The words of English that are in nearly every text, and words of source code, which are English too. */
const ENGLISH_WORDS =
  'the of and to is was for that it with as his he be not by but have you which are or her had at from this they all ' +
  'one their there been if more when will would who so what said up out about into could has them some other than its ' +
  'then these only any my now like over such our your made after did many should where through because before being ' +
  'between both each how just most also new time well way even two may can do does an we were him she me us know think ' +
  'please want need help using used user users answer question thanks hello here why yes without within first last ' +
  'const let var function return import export class public private static void string number boolean async await ' +
  'else while switch case break continue default true false null undefined this self def elif print none try catch ' +
  'except finally throw throws interface type extends implements struct enum package func fn impl pub use select where ' +
  'join group order limit insert update delete table values div span href style width height color background margin ' +
  'padding border display flex error info warn debug get post put request response value key name data list index ' +
  'length size map filter test file path code line config options result message status';

/** Words that are in nearly every text of German, French, Spanish, Italian, Portuguese or Dutch. */
const EUROPEAN_WORDS =
  'der die das und ist nicht ein eine einen dem den des zu mit sich auf von im auch als wie er sie es wir ihr aus bei ' +
  'nach oder aber wenn noch nur kann wird wurde sind haben hat dass mehr vor durch seine ihren ihre ' +
  'le la les des du et est une un pour que qui dans sur pas plus par avec ce cette ses sont mais nous vous ils elle ou ' +
  'leur aux au ne son sa ' +
  'el los las y es por para con una su sus lo como pero del al muy ya hay ser si porque esta este ' +
  'il lo gli che di per non con una sono nel della dei delle alla anche come ma ogni questo quelle nei quali ' +
  'o os as um uma do da dos das em no nos nas com mais foi ele ela ao pelo pela seu sua ' +
  'het een van en dat op te zijn niet voor met die aan om ook als bij maar uit naar nog wordt zal door';

const WORDS = new Map<string, 'english' | 'european'>([
  ...EUROPEAN_WORDS.split(' ').map((word) => [word, 'european'] as const),
  ...ENGLISH_WORDS.split(' ').map((word) => [word, 'english'] as const),
]);

/**
 * Which languages a word is common in; undefined for one that says nothing about its language.
 *
 * @param capitals - Whether it has any.
 */
export function commonness(word: string, capitals: boolean): 'english' | 'european' | undefined {
  return WORDS.get(capitals ? word.toLowerCase() : word);
}
