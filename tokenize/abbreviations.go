package tokenize

import "strings"

// The lists below are ours: what commonly stands in encyclopaedias, manuals, law and news in English,
// German, French, Spanish, Portuguese, Italian, Dutch, Russian, Vietnamese, Indonesian, Turkish, Arabic, Hindi and Bengali. Words are in lower case, without
// the final full stop; a single letter needs no entry, since initials are recognised by their shape.

// openers are abbreviations that need something after them, a name as a rule, and never end a sentence.
func openers() string {
	return `
	adm approx asst atty bros capt cf cmdr comdr cpl dept dr eg esp fr gen gov hon ie lt maj messrs mlle mme mr mrs ms
	mt mx pfc phd prof rev sen sens sgt ste supt treas viz vs
	abs anm aufl bspw bzgl bzw ca dipl evtl geb gegr ggf hl hrsg inkl ing insb lfd sog str verf vgl vorm zzgl
	av éd env mgr mmes réf
	arq avda dña dra excma excmo fdo ilma ilmo lic núm pbro sr sra sras sres srta ud uds exma exmo profa
	avv cfr dott dssa egr geom sigg sigra
	bijv dhr mevr mw resp
	pgs gs ts ths bs tp kts
	yth jl drs dra
	bkz örn doç sn hz yrd
	د أ م.م
	डॉ प्रो श्री सुश्री
	ড ডা মো প্রফেসর
	акад гл илл напр обл пл просп проф рис см соч ср табл ул чл`
}

// numbered are abbreviations that belong to a number, and are words or names without one.
func numbered() string {
	return `
	abb art bd ch chap eq fig figs hfst kap no nos nr op pag pagg pág págs pp sec secs tab tel tél vol vols п рис стр hlm hal quyển tập
	ص ج`
}

// closers are abbreviations that may also end a sentence: the next word decides.
func closers() string {
	return `
	v.v vv dll dsb dst tbk vb vd
	al am apr assn aug ave bldg blvd co corp dec ed eds est etc feb ft hwy inc jan jr jul jun ltd mar max md min nov oct
	oz pm rd rep reps sep sept sq st tsp univ cie enz gmbh ltda sa srl usw вв гг им кв корп млн млрд ред руб тыс`
}

// starters are words that begin a sentence far more often than they continue a name: after an initial
// or a closer, a capital one of these means that a new sentence began.
func starters() string {
	return `
	a about according after all although an and another as at because before both but by each for from he her his
	how however i if in it its many most my no on one our she since so some such that the their then there these they
	this those to under unlike we what when where which while who why with yes you your
	aber als auch auf bei da das dass dem den der des die dieser diese dieses ein eine er es für im ist man mit nach
	sie und von wenn wie wir zu
	au ce ces cette dans de des elle elles en et il ils je la le les mais nous on par pour que sur un une vous
	con cuando del el ella ellos en es esta este estos la las lo los no para pero por se según sin su sus una y
	as da do e ela ele eles em esta este isso mas na no o os para por um uma
	al che con da della di e gli ha i il in la le lo ma nel per questa questo sono un una
	các những tuy nhưng khi trong đây đó ông bà họ nó tôi chúng theo để nếu vì ngoài còn sau trước mỗi một hiện
	ini itu pada untuk dari ia dia mereka kami kita saya namun tetapi jika ketika dalam menurut selain
	bu bir ve ancak fakat ama ben biz siz onlar şimdi daha her onun bunun
	а в вы для его если и их к как мы на не но о он она они от по при с также там то ты у что это я`
}

// months follow the ordinals of German and its neighbours: "am 3. Mai".
func months() string {
	return `
	januar jänner februar märz april mai juni juli august september oktober november dezember januari februari maart
	mei juni juli augustus oktober december januari marts maj juli januar jan feb mär apr jun jul aug sept sep okt nov
	ocak şubat mart nisan mayıs haziran temmuz ağustos eylül ekim kasım aralık yüzyıl yüzyılda yüzyılın
	dez jahrhundert jh jahrhunderts weltkrieg klasse auflage platz stock bezirk`
}

// wordSet turns a list above into a set.
func wordSet(list string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}
