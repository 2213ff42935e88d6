"""Makes tests/data/metrics/*.json: sentence pairs of all kinds and what sacreBLEU 2.6 makes of them (pip install sacrebleu).

Each file is one corpus: its pairs, the tokens of each hypothesis, BLEU and chrF of each pair as a corpus of one sentence, and
BLEU and chrF of the whole. Run from the root of the repository; the same bytes every time."""
import json
import random

from sacrebleu.metrics import BLEU, CHRF
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

rng = random.Random(1)
tokenize = Tokenizer13a()

SUBJECTS = ["The ferry", "A grey gull", "Our captain", "The old lighthouse", "Nobody", "Every passenger", "My neighbour's dog"]
VERBS = ["crosses", "leaves", "watches", "finds", "paints", "forgets", "calls"]
OBJECTS = ["the harbour", "a red boat", "two islands", "the morning fog", "the same song", "a letter", "the other shore"]
ENDS = ["at noon", "before winter", "without a word", "in the rain", "again and again", "for the first time", ""]


def plain():
    words = [rng.choice(SUBJECTS), rng.choice(VERBS), rng.choice(OBJECTS), rng.choice(ENDS)]
    return " ".join(" ".join(words).split()) + rng.choice([".", ".", ".", "!", "?", ""])


def worsen(sentence, share):
    """Drop, double, swap and exchange words."""
    words = []
    for word in sentence.split(" "):
        if rng.random() >= share:
            words.append(word)
            continue
        words += rng.choice([[], [word, word], [rng.choice(OBJECTS)], [word.lower()], [word[:-1]]])
    if rng.random() < share and len(words) > 2:
        i = rng.randrange(len(words) - 1)
        words[i], words[i + 1] = words[i + 1], words[i]
    return " ".join(words)


def worsened(sentences, share):
    return [(worsen(s, share), s) for s in sentences]


PUNCTUATION = [
    "It costs $5.20, or 1,000.50 in all.", "Rooms 10-15 are well-known; rooms A-3 and 3-A aren't.", "Wait... what?! No,no.no.",
    ".5 and 5. and ,5 and 5, and .,", "1.2.3, 1,2,3. a.b,c", "U.S.A. vs. U.K.: 3-2 (after 120 min.)", "50% of a/b & c+d = e*f",
    "\"quoted\" 'single' `back` {curly} [square] <angle> ~tilde~", "mail: anna@mole.example, #7_x^2\\|y", "--- dash --- 7--8 -9 9-",
    "l'eau d'ici, aujourd'hui.", "end.", "end,", "3.", ".3", "..", "...", ",", "-", "2-", "-2", "a.1", "1.a", "a,1", "1,a", "1.,a", "1,.2",
    "x.y.", "6-7-8", "6,7-8.9", "''quotes''", "semi;colon:colon", "a!b?c", "$1-$2", "9.-9", ".-.", "9.9.-", "…and so on…", "«a» „b“ – c — d",
]
ENTITIES = [
    "&quot;Yes&quot; &amp; &lt;no&gt;", "&amp;quot; &amp;amp; &amp;lt;", "&quot", "& quot;", "&;", "&apos;", "a<skipped>b", "<skipped>", "<skip<skipped>ped>",
    "well-\nknown", "a\nb", "a-<skipped>\nb", "-\n", "\n", "a -\n b", "x\n-\n\ny", "&lt;skipped&gt;", "tail-\n", "tail \n", "7-\n8", "7\n-8", "a\r\nb", "a-\r\nb",
]
SCRIPTS = [
    "Où est l'été ? À côté, naïf œuvre.", "Ou\u0300 est l'e\u0301te\u0301 ?", "渡船每天早上离开港口。", "フェリーは、3.5時間で着く。", "배는 10시에 떠난다.", "Корабль ушёл, 5-й раз.",
    "السفينة تغادر، الآن.", "👩‍👩‍👧 go 🚢🚢!", "🏳️‍🌈.🇫🇷,5", "１,２.３ ５-６", "٣.٤,٥-٦", "é.5 5.é é,é é-5 5-é", "Ƶ\u0301\u0302.ß,ſ", "ไปเรือ", "𝔄𝔅.𝔠", "۔.،,", "½.¼,²-³", "\ufeffbom", "soft\u00adhyphen-ated",
]
SPACES = [f"a{c}b {c} c{c}" for c in "\t\v\f\r\x1c\x1d\x1e\x1f\x85\xa0\u1680\u180e\u2000\u2004\u200a\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff\x08\x0e\x1b\x7f\x84"]
SPACES += [" ", "   ", "  lead", "trail  ", "\u3000", "\xa0.\xa0", "5\xa0.5", "5.\u2009 5", "a\x85,b"]
ALPHABET = ["a", "b", "B", "é", "5", "0", "7", ".", ",", "-", " ", " ", "  ", "'", "\"", "(", "/", "&", "&amp;", "&lt;", "<skipped>", "-\n", "\n", "\t", "\xa0", "…", "水", "🚢", "\u0301", "_", "$", "%"]


def noise():
    return "".join(rng.choice(ALPHABET) for _ in range(rng.randrange(0, 25)))


def disturbed(text):
    parts = list(text)
    for _ in range(rng.randrange(0, 4)):
        if parts:
            parts[rng.randrange(len(parts))] = rng.choice(ALPHABET)
    return "".join(parts)


def disturbed_all(texts):
    return [(disturbed(t), t) for t in texts] + [(t, disturbed(t)) for t in texts[::3]]


CORPORA = {
    "plain": worsened([plain() for _ in range(60)], 0.15),
    "poor": worsened([plain() for _ in range(30)], 0.6),
    "identical": [(s, s) for s in (plain() for _ in range(10))],
    "nothing": [("zwölf Boxkämpfer", plain()) for _ in range(5)],
    "short": [(s, s + rng.choice(["", " x"])) for s in ["Yes", "No.", "Go on", "a b c", "", "Hm", "one two three"]],
    "unigrams": [("shore other the for paints", "the other shore paints a song for nobody here"), ("x rain y the z", "in the rain")],
    "bigrams": [("the other x the harbour y the rain", "the harbour in the rain and the other shore")],
    "empty": [("", plain()), (plain(), ""), ("", ""), (plain(), plain()), (" ", plain())],
    "all_empty": [("", plain()), ("", plain())],
    "too_long": [(s + " " + plain(), s) for s in (plain() for _ in range(10))],
    "too_short": [(s[: len(s) // 2], s) for s in (plain() for _ in range(10))],
    "repeated": [("the the the the the the the", "the harbour and the fog"), ("a a a a b a a a a", "a a b a a a c a a a a a")],
    "case": [(s.upper(), s) for s in (plain() for _ in range(5))] + [(s.lower(), s) for s in (plain() for _ in range(5))],
    "punctuation": disturbed_all(PUNCTUATION),
    "entities": disturbed_all(ENTITIES),
    "scripts": disturbed_all(SCRIPTS),
    "spaces": disturbed_all(SPACES),
    "noise": [(disturbed(t), t) for t in (noise() for _ in range(150))],
}


def scores(hypotheses, references):
    bleu = BLEU().corpus_score(hypotheses, [references])
    return {
        "bleu": bleu.score,
        "precision": bleu.precisions,
        "brevity_penalty": bleu.bp,
        "match": bleu.counts,
        "total": bleu.totals,
        "hypothesis_length": bleu.sys_len,
        "reference_length": bleu.ref_len,
        "chrf": CHRF().corpus_score(hypotheses, [references]).score,
    }


for name, pairs in CORPORA.items():
    hypotheses, references = [h for h, _ in pairs], [r for _, r in pairs]
    with open(f"tests/data/metrics/{name}.json", "w", encoding="ascii") as out:
        out.write('{"corpus":%s,\n"pairs":[\n' % json.dumps(scores(hypotheses, references)))
        rows = []
        for h, r in pairs:
            alone = scores([h], [r])
            rows.append(json.dumps([h, r, tokenize(h.rstrip()), alone["bleu"], alone["chrf"], h.rstrip() == r.rstrip()]))
        out.write(",\n".join(rows) + "\n]}\n")

# Several references: rows [hypothesis, references], of three lengths, sharing words with the hypothesis in different ways.
rows = []
for text in [plain() for _ in range(40)]:
    rows.append([worsen(text, 0.3), [worsen(text, 0.3), text, plain()]])
rows += [["the the the the", ["the", "the the x", "the cat the the y z"]], ["", ["a b", "c", ""]], ["a b c", ["a b", "a b c d", "x"]]]
for count in (2, 3):
    hypotheses, streams = [h for h, _ in rows], [[r[i] for _, r in rows] for i in range(count)]
    bleu, chrf = BLEU().corpus_score(hypotheses, streams), CHRF().corpus_score(hypotheses, streams)
    result = {"bleu": bleu.score, "match": bleu.counts, "reference_length": bleu.ref_len, "chrf": chrf.score, "rows": rows}
    with open(f"tests/data/metrics/references{count}.json", "w", encoding="ascii") as out:
        out.write(json.dumps(result) + "\n")
